#include "src/agent/process/task_list.h"

#include <gtest/gtest.h>

namespace vesta::agent::process {
namespace {

Labels Service(const std::string& name) {
  Labels labels;
  labels.service_name = name;
  return labels;
}

TEST(TaskListTest, EqualLabelsAreOne) {
  TaskList tasks(100);
  const auto one = tasks.Intern(Service("shop"));
  EXPECT_EQ(one, tasks.Intern(Service("shop")));
  EXPECT_NE(one, tasks.Intern(Service("cart")));
}

TEST(TaskListTest, LabelsThatNobodyHoldsGoAndTheOthersStay) {
  TaskList tasks(100);
  const auto held = tasks.Intern(Service("held"));
  const std::weak_ptr<const Labels> dropped = tasks.Intern(Service("dropped"));
  for (int i = 0; i < 3000; ++i) tasks.Intern(Service(std::to_string(i)));
  EXPECT_TRUE(dropped.expired());
  EXPECT_EQ(held, tasks.Intern(Service("held")));
}

TEST(TaskListTest, AStrangerIsOneTaskPerPidAndStart) {
  TaskList tasks(100);
  const auto first = tasks.AddStranger(10, 5, "thread");
  EXPECT_TRUE(first.is_new);
  EXPECT_EQ(tasks.task(first.task).comm, "thread");
  EXPECT_FALSE(tasks.task(first.task).labels->known);
  const auto again = tasks.AddStranger(10, 5, "other thread");
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.task, first.task);
  EXPECT_NE(tasks.AddStranger(10, 6, "thread").task, first.task);
  EXPECT_NE(tasks.AddStranger(11, 5, "thread").task, first.task);
}

TEST(TaskListTest, WhatIsLearnedOfOneProcessDoesNotRenameAllBeyondTheLimit) {
  TaskList tasks(3);
  const auto add = [&](uint32_t pid) {
    return tasks.Add({pid, 0, std::to_string(pid), tasks.Intern(Labels{})});
  };
  const TaskId kept = add(1);
  add(2);
  const TaskId other = add(3);
  EXPECT_EQ(add(4), other);
  EXPECT_EQ(tasks.beyond_limit_count(), 2u);
  for (const TaskId id : {kept, other}) {
    tasks.SetComm(id, "renamed");
    tasks.SetStart(id, 77);
    Labels labels;
    labels.unit = "shop.service";
    tasks.SetLabels(id, tasks.Intern(labels));
  }
  EXPECT_EQ(tasks.task(kept).labels->unit, "shop.service");
  EXPECT_EQ(tasks.task(other).labels->unit, "");
  EXPECT_EQ(tasks.task(kept).comm, "renamed");
  EXPECT_EQ(tasks.task(kept).start_boot_ns, 77u);
  EXPECT_EQ(tasks.task(other).comm, "[other]");
  EXPECT_EQ(tasks.task(other).start_boot_ns, 0u);
  tasks.Clear();
  EXPECT_EQ(tasks.task(add(5)).comm, "5");
}

TEST(TaskListTest, AProcessIsExcludedByItsOwnWordOrTheRuleAndByItsNameOfNow) {
  TaskList tasks(4, [](const TaskInfo& task) { return task.comm == "secret"; });
  const auto add = [&](const std::string& comm, bool opted_out) {
    Labels labels;
    labels.opted_out = opted_out;
    return tasks.Add({1, 2, comm, tasks.Intern(labels)});
  };
  EXPECT_EQ(tasks.task(add("plain", true)).exclusion, Exclusion::kOptedOut);
  const TaskId renamed = add("plain", false);
  EXPECT_EQ(tasks.task(renamed).exclusion, Exclusion::kNone);
  tasks.SetComm(renamed, "secret");
  EXPECT_EQ(tasks.task(renamed).exclusion, Exclusion::kByRule);
  tasks.SetComm(renamed, "plain");
  EXPECT_EQ(tasks.task(renamed).exclusion, Exclusion::kNone);
  Labels labels;
  labels.opted_out = true;
  tasks.SetLabels(renamed, tasks.Intern(labels));
  EXPECT_EQ(tasks.task(renamed).exclusion, Exclusion::kOptedOut);
  add("a", false);
  EXPECT_EQ(tasks.task(add("secret", true)).exclusion, Exclusion::kNone) << "beyond the limit";
}

}  // namespace
}  // namespace vesta::agent::process
