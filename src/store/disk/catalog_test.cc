#include "src/store/disk/catalog.h"

#include <gtest/gtest.h>

namespace vesta::store {
namespace {

Labels Service(const std::string& name) { return {{"service.name", name}}; }

TEST(Catalog, EqualLabelsAreOneSeries) {
  Catalog catalog(10);
  const SeriesId a = catalog.InternSeries(Service("a"));
  EXPECT_EQ(catalog.AdmitSeries(Service("a")).series, a);
  EXPECT_NE(catalog.AdmitSeries(Service("b")).series, a);
  EXPECT_EQ(catalog.labels(a), Service("a"));
  EXPECT_EQ(catalog.series_count(), 2u);
}

TEST(Catalog, BeyondTheCapNewSeriesShareOne) {
  Catalog catalog(2);
  EXPECT_FALSE(catalog.AdmitSeries(Service("a")).is_overflow);
  EXPECT_FALSE(catalog.AdmitSeries(Service("b")).is_overflow);
  const auto c = catalog.AdmitSeries(Service("c"));
  const auto d = catalog.AdmitSeries(Service("d"));
  EXPECT_TRUE(c.is_overflow);
  EXPECT_EQ(c.series, d.series);
  EXPECT_EQ(catalog.labels(c.series), OverflowLabels());
  EXPECT_FALSE(catalog.AdmitSeries(Service("a")).is_overflow);
  EXPECT_EQ(catalog.series_count(), 3u);
  // What is on disk already is known, however many that are.
  const SeriesId e = catalog.InternSeries(Service("e"));
  EXPECT_EQ(catalog.labels(e), Service("e"));
  EXPECT_FALSE(catalog.AdmitSeries(Service("e")).is_overflow);
}

TEST(Catalog, TheOverflowSeriesTakesNoPlace) {
  Catalog catalog(1);
  EXPECT_FALSE(catalog.AdmitSeries(OverflowLabels()).is_overflow);
  EXPECT_FALSE(catalog.AdmitSeries(Service("a")).is_overflow);
  EXPECT_TRUE(catalog.AdmitSeries(Service("b")).is_overflow);
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
