#include "src/store/disk/catalog.h"

#include <gtest/gtest.h>

#include <utility>

namespace vesta::store {
namespace {

Labels Service(const std::string& name) { return {{"service.name", name}}; }

TEST(Catalog, EqualLabelsAreOneSeries) {
  Catalog catalog(10);
  HeldSeries held(&catalog);
  held.Add(Service("a"));
  EXPECT_FALSE(held.Admit(Service("a")));
  EXPECT_FALSE(held.Admit(Service("b")));
  EXPECT_EQ(held.ids()[0], held.ids()[1]);
  EXPECT_NE(held.ids()[0], held.ids()[2]);
  EXPECT_EQ(catalog.labels(held.ids()[0]), Service("a"));
  EXPECT_EQ(catalog.series_count(), 2u);
}

TEST(Catalog, BeyondTheCapNewSeriesShareOne) {
  Catalog catalog(2);
  HeldSeries held(&catalog);
  EXPECT_FALSE(held.Admit(Service("a")));
  EXPECT_FALSE(held.Admit(Service("b")));
  EXPECT_TRUE(held.Admit(Service("c")));
  EXPECT_TRUE(held.Admit(Service("d")));
  EXPECT_EQ(held.ids()[2], held.ids()[3]);
  EXPECT_EQ(catalog.labels(held.ids()[2]), OverflowLabels());
  EXPECT_FALSE(held.Admit(Service("a")));
  EXPECT_EQ(catalog.series_count(), 3u);
  // What is on disk already is known, however many that are.
  held.Add(Service("e"));
  EXPECT_EQ(catalog.labels(held.ids().back()), Service("e"));
  EXPECT_FALSE(held.Admit(Service("e")));
}

TEST(Catalog, TheOverflowSeriesTakesNoPlace) {
  Catalog catalog(1);
  HeldSeries held(&catalog);
  EXPECT_FALSE(held.Admit(OverflowLabels()));
  EXPECT_FALSE(held.Admit(Service("a")));
  EXPECT_TRUE(held.Admit(Service("b")));
}

TEST(Catalog, ASeriesThatNobodyHasTakesNoPlace) {
  Catalog catalog(2);
  HeldSeries days(&catalog);
  SeriesId first(0);
  {
    HeldSeries old(&catalog);
    EXPECT_FALSE(old.Admit(Service("a")));
    EXPECT_FALSE(old.Admit(Service("b")));
    EXPECT_TRUE(old.Admit(Service("c")));
    first = old.ids()[0];
    days.Add(Service("b"));
    HeldSeries moved(std::move(old));
    EXPECT_EQ(catalog.series_count(), 3u);
  }
  EXPECT_EQ(catalog.series_count(), 1u);
  EXPECT_EQ(catalog.labels(first), Service("a"));  // its number stays
  EXPECT_FALSE(days.Admit(Service("c")));
  EXPECT_TRUE(days.Admit(Service("a")));
  days = HeldSeries(&catalog);
  EXPECT_EQ(catalog.series_count(), 0u);
}

TEST(Catalog, TypesDifferInEachField) {
  Catalog catalog(1);
  const ProfileType cpu{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"};
  ProfileType other = cpu;
  other.unit = "count";
  EXPECT_NE(catalog.InternType(cpu), catalog.InternType(other));
  EXPECT_EQ(catalog.InternType(cpu), catalog.InternType(cpu));
  EXPECT_EQ(catalog.type(catalog.InternType(other)), other);
}

}  // namespace
}  // namespace vesta::store
