//! The growth of each region.

use super::sheet::Sheet;

/// The regions, the fastest first; regions with unknown growth last.
#[derive(Debug)]
pub(super) struct GrowthTable {
    pub(super) regions: Vec<RegionGrowth>,
}

#[derive(Debug)]
pub(super) struct RegionGrowth {
    pub(super) name: String,
    /// The first and the last year, each with the sales as written in the file.
    pub(super) first: (i64, String),
    pub(super) last: (i64, String),
    /// The growth from the first to the last year in percent. `None` with one year only, or for initial sales
    /// of zero.
    pub(super) percent: Option<f64>,
}

impl GrowthTable {
    pub(super) fn of(sheet: &Sheet) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for row in &sheet.rows {
            if !names.contains(&row.region.as_str()) {
                names.push(&row.region);
            }
        }
        let region = |name| {
            let rows = || sheet.rows.iter().filter(move |row| row.region == name);
            let first = rows().min_by_key(|row| row.year)?;
            let last = rows().max_by_key(|row| row.year)?;
            let is_comparable = first.year < last.year && first.sales > 0.0;
            let percent = (last.sales - first.sales) / first.sales * 100.0;
            Some(RegionGrowth {
                name: first.region.clone(),
                first: (first.year, first.sales_text.clone()),
                last: (last.year, last.sales_text.clone()),
                percent: Some(percent).filter(|percent| is_comparable && percent.is_finite()),
            })
        };
        let mut regions: Vec<RegionGrowth> = names.into_iter().filter_map(region).collect();
        let rank = |region: &RegionGrowth| region.percent.unwrap_or(f64::NEG_INFINITY);
        regions.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        Self { regions }
    }

    /// Returns the fastest growth, and all regions with exactly this growth.
    pub(super) fn fastest_regions(&self) -> Option<(f64, Vec<&RegionGrowth>)> {
        let percent = self.regions.first()?.percent?;
        let regions = self.regions.iter();
        let equal = regions.filter(|region| region.percent == Some(percent));
        Some((percent, equal.collect()))
    }

    /// Returns all regions, sorted by name.
    pub(super) fn region_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.regions.iter().map(|region| region.name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the regions with unknown growth.
    pub(super) fn unknown_regions(&self) -> Vec<&str> {
        let unknown = self.regions.iter().filter(|region| region.percent.is_none());
        unknown.map(|region| region.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_ranked_and_nothing_is_divided_by_zero() {
        let text = "region,year,sales\nOnce,2021,5\nZero,2020,0\nZero,2021,9\nDown,2021,100\n\
                    Down,2019,200\nUp,2020,80\nUp,2022,90\nUp,2021,10\n\
                    Tiny,2020,1e-320\nTiny,2021,1e300";
        let growth = GrowthTable::of(&Sheet::parse(text).unwrap());
        let ranked: Vec<_> =
            growth.regions.iter().map(|region| (region.name.as_str(), region.percent)).collect();
        assert_eq!(ranked[..2], [("Up", Some(12.5)), ("Down", Some(-50.0))]);
        assert_eq!(growth.unknown_regions(), ["Once", "Zero", "Tiny"]);
        assert_eq!(growth.fastest_regions().unwrap().1.len(), 1);
    }
}
